"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const cards = [...document.querySelectorAll("#examples > li")];
  const status = document.getElementById("shown");
  const names = ["class", "certainty", "judged"];
  const show = () => {
    const chosen = new FormData(form);
    let count = 0;
    for (const card of cards) {
      const fits = names.every((name) => !chosen.get(name) || card.dataset[name] === chosen.get(name));
      card.hidden = !fits;
      count += fits;
    }
    status.textContent = `${count} of ${cards.length} examples shown.`;
  };
  form.addEventListener("change", show);
  form.addEventListener("reset", () => setTimeout(show));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
})();
