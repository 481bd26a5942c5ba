"""What the site has beside the pages of docs/: pages at the root, notebooks, and the files that pages link to."""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
BORROWED = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")
ORIGIN = {page: path for path, page in BORROWED.items()}
"""Of a page on the site: its path in the repository, where that is not docs/."""


def on_files(files, config):
    """Add them; a file that is no page is shown as text."""
    for path, page in BORROWED.items():
        files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    for book in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for name, content in pages_of(book):
            files.append(File.generated(config, f"notebooks/{name}", content=content))
        ORIGIN[f"notebooks/{book.stem}.md"] = f"notebooks/{book.name}"
    for file in list(files.documentation_pages()):
        for _, target, _ in LINK.findall(file.content_string):
            path = in_repository(target, file.src_uri)
            on_site = site_path(path)
            if on_site.startswith("source/") and on_site not in files.src_uris and (ROOT / path).is_file():
                files.append(File.generated(config, on_site, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links lead to where things are on the site."""
    here = page.file.src_uri

    def moved(match):
        before, target, anchor = match.groups(default="")
        path = in_repository(target, here)
        if "://" in target or not (ROOT / path).exists():
            return match[0]
        if (ROOT / path).is_dir():
            return f"{before}{relpath(folder_page(path), str(PurePosixPath(here).parent))})"
        return f"{before}{relpath(site_path(path), str(PurePosixPath(here).parent))}{anchor})"

    return LINK.sub(moved, markdown)


def on_nav(nav, config, files):
    """Pages that mkdocs.yml does not name stand at the end of the last section."""
    from mkdocs.structure.pages import Page

    named = {page.file.src_uri for page in nav.pages}
    for file in files.documentation_pages():
        if file.src_uri not in named:
            page = Page(None, file, config)
            page.parent = nav.items[-1]
            nav.items[-1].children.append(page)
            nav.pages.append(page)
    return nav


def in_repository(target, page):
    """The path that a link of a page means."""
    origin = ORIGIN.get(page, f"docs/{page}")
    return normpath(str(PurePosixPath(origin).parent / target))


def site_path(path):
    """Where a file of the repository is on the site."""
    if path in BORROWED:
        return BORROWED[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.endswith(".ipynb"):
        return str(PurePosixPath(path).with_suffix(".md"))
    return f"source/{path}.txt"


def folder_page(path):
    """The page that stands for a folder."""
    return {"notebooks": "notebooks/your-images.md", "examples": "pytorch.md"}.get(path, "index.md")


def pages_of(book):
    """A notebook as a page, and its pictures."""
    from nbconvert import MarkdownExporter

    text, resources = MarkdownExporter().from_filename(str(book), {"output_files_dir": f"{book.stem}_files"})
    text = re.sub(r"<style scoped>.*?</style>\n", "", text, flags=re.DOTALL)  # data frames look like other tables
    yield f"{book.stem}.md", text.replace(' border="1" class="dataframe"', "")
    yield from resources["outputs"].items()
