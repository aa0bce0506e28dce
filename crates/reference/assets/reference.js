// The search of the reference. The file of names, which is loaded behind this one, calls `squallNames` with an array of
// `[name, kind, place, address, sentence]`. Nothing is loaded from elsewhere, and all texts are added as texts.

"use strict";

function squallNames(names) {
  const most = 50;
  const input = document.querySelector("search input");
  const list = document.querySelector("search ul");
  const lower = names.map((entry) => entry[0].toLowerCase());
  let selected = -1;

  // Lower is better; -1 is no match. Short names are before long ones.
  function rank(name, query) {
    const at = name.indexOf(query);
    if (at < 0) return -1;
    const place = name === query ? 0 : at === 0 ? 1 : 2;
    return place * 1000 + Math.min(name.length, 999);
  }

  function find(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return [];
    const last = words[words.length - 1];
    const found = [];
    for (let index = 0; index < names.length; index++) {
      const score = rank(lower[index], last);
      if (score < 0) continue;
      const place = names[index][2].toLowerCase();
      if (words.slice(0, -1).every((word) => place.includes(word))) found.push([score, index]);
    }
    found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return found.slice(0, most).map((pair) => names[pair[1]]);
  }

  function item([name, kind, place, address, sentence], number) {
    const entry = document.createElement("li");
    entry.id = "page:found" + number;
    entry.setAttribute("role", "option");
    const link = document.createElement("a");
    link.href = address;
    link.tabIndex = -1;
    link.textContent = name;
    const more = document.createElement("small");
    more.textContent = [kind, place && "in " + place].filter(Boolean).join(" ") + (sentence && ": " + sentence);
    entry.append(link, more);
    entry.addEventListener("click", () => go(number));
    return entry;
  }

  function show() {
    const found = find(input.value);
    list.replaceChildren(...found.map(item));
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    select(found.length === 0 ? -1 : 0);
  }

  function select(number) {
    selected = number;
    input.removeAttribute("aria-activedescendant");
    for (const [index, entry] of [...list.children].entries()) {
      entry.setAttribute("aria-selected", String(index === number));
      if (index === number) {
        input.setAttribute("aria-activedescendant", entry.id);
        entry.scrollIntoView({ block: "nearest" });
      }
    }
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    select(-1);
  }

  function go(number) {
    const link = list.children[number].querySelector("a");
    close();
    location.href = link.href;
  }

  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("keydown", (event) => {
    const count = list.hidden ? 0 : list.children.length;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && selected >= 0) go(selected);
    else if (event.key === "ArrowDown" && count > 0) select((selected + 1) % count);
    else if (event.key === "ArrowUp" && count > 0) select((selected + count - 1) % count);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("search")) close();
  });
  input.closest("search").hidden = false;
}
