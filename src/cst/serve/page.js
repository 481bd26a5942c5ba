"use strict";
(() => {
  const form = document.getElementById("ask");
  const status = document.getElementById("status");
  const results = document.getElementById("results");
  const most = { body: Number(form.dataset.body), count: Number(form.dataset.count) };
  const MOST_BARS = 10;
  let turn = 0;
  let addresses = [];

  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const say = (text, bad) => {
    status.textContent = text;
    status.className = bad ? "bad" : "";
  };

  const bars = (classes, shares) => {
    const order = shares.map((_, place) => place).sort((a, b) => shares[b] - shares[a]);
    const list = element("ul", undefined, "bars");
    for (const place of order.slice(0, MOST_BARS)) {
      const item = element("li");
      const name = element("span", String(classes[place]));
      name.dir = "auto";
      const track = element("div", undefined, "track");
      track.append(element("div"));
      track.firstChild.style.width = `${100 * shares[place]}%`;
      item.append(name, element("span", percent(shares[place]), "share"), track);
      list.append(item);
    }
    const parts = [list];
    const others = order.slice(MOST_BARS);
    if (others.length) {
      const share = others.reduce((sum, place) => sum + shares[place], 0);
      parts.push(element("p", `and ${others.length} more classes, ${percent(share)} together`, "rest"));
    }
    return parts;
  };

  const show = (answer, files) => {
    for (const address of addresses) URL.revokeObjectURL(address);
    addresses = [];
    results.replaceChildren(...answer.predictions.map((one, place) => {
      const result = element("article", undefined, "result");
      if (files[place]) {
        const picture = element("img");
        picture.alt = "";
        picture.src = URL.createObjectURL(files[place]);
        addresses.push(picture.src);
        picture.addEventListener("error", () => picture.remove());
        result.append(picture);
      }
      const words = element("div");
      const title = element("h3", String(one.prediction));
      title.dir = "auto";
      words.append(title);
      if (files[place]) words.append(element("p", one.name, "of"));
      words.append(...bars(answer.classes, one.probabilities));
      result.append(words);
      return result;
    }), ...answer.notes.map((note) => element("p", note, "note")));
    const first = answer.predictions[0];
    say(answer.predictions.length > 1 ? `${answer.predictions.length} predictions.`
      : `${first.prediction}, ${percent(first.probability)}.`);
  };

  const ask = async (body, type, files = []) => {
    const mine = ++turn;
    say("Asking ...");
    results.replaceChildren();
    try {
      const response = await fetch("predict", { method: "POST", body, headers: type ? { "Content-Type": type } : {} });
      const answer = await response.json();
      if (mine !== turn) return;
      if (response.ok) show(answer, files);
      else say(answer.error, true);
    } catch {
      if (mine === turn) say("The server does not answer.", true);
    }
  };
  const askJson = (key, values) => ask(JSON.stringify({ [key]: values }), "application/json");

  const askFiles = (files) => {
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (!files.length) return;
    if (files.length > most.count) return say(`At most ${most.count} pictures at a time.`, true);
    if (size > most.body) return say(`Together they have ${(size / 2 ** 20).toFixed(1)} MB: send fewer.`, true);
    const body = new FormData();
    for (const file of files) body.append("files", file);
    ask(body, undefined, files);
  };

  const reshaped = (numbers, shape) => {
    if (shape.length < 2) return numbers;
    const size = shape.slice(1).reduce((product, side) => product * side, 1);
    return Array.from({ length: shape[0] }, (_, i) => reshaped(numbers.slice(i * size, (i + 1) * size), shape.slice(1)));
  };

  const submit = {
    files: () => {
      const box = document.getElementById("files");
      askFiles([...box.files]);
      box.value = "";  // so that the same picture can be chosen again
    },
    texts: () => askJson("texts", [document.getElementById("text").value]),
    rows: () => {
      const area = document.getElementById("numbers");
      if (area) {
        const shape = area.dataset.shape.split(",").map(Number);
        const words = area.value.split(/[\s,;]+/).filter(Boolean);
        const count = shape.reduce((product, side) => product * side, 1);
        if (words.length !== count) return say(`These are ${words.length} numbers instead of ${count}.`, true);
        const wrong = words.find((word) => Number.isNaN(Number(word)));
        if (wrong !== undefined) return say(`${wrong} is no number.`, true);
        return askJson("rows", [reshaped(words.map(Number), shape)]);
      }
      const row = Object.create(null);
      for (const box of form.querySelectorAll("[data-column]")) row[box.dataset.column] = box.value.trim() || null;
      askJson("rows", [row]);
    },
  }[form.dataset.takes];

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      submit();
    }
  });
  const drop = form.querySelector(".drop");
  if (drop) {
    drop.addEventListener("change", submit);
    for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, () => drop.classList.add("over"));
    for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
    document.addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files];
      if (files.length) askFiles(files);
    });
  }
})();
