// Search over search-index.js: entries [title, kind, path, words]; every word typed must be found, titles count most.
(function () {
  "use strict";
  const up = document.body.dataset.up, box = document.getElementById("search"), list = document.getElementById("found");
  const most = 40;
  let chosen = -1;
  const score = (entry, words) => {
    const title = entry[0].toLowerCase(), text = (entry[0] + " " + entry[3]).toLowerCase();
    let sum = 0;
    for (const word of words) {
      if (!text.includes(word)) return -1;
      sum += title === word ? 100 : title.startsWith(word) ? 20 : title.includes(word) ? 10 : 1;
    }
    return sum - title.length / 1000;
  };
  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length === 0 ? [] : window.SEARCH_INDEX.map((entry) => [score(entry, words), entry])
      .filter((pair) => pair[0] >= 0).sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...found.slice(0, most).map(([, entry]) => {
      const item = document.createElement("li"), link = document.createElement("a"), more = document.createElement("small");
      link.href = up + entry[2].split("/").map(encodeURIComponent).join("/");
      link.textContent = entry[0];
      more.textContent = entry[1] + ": " + entry[3].slice(0, 100);
      link.append(more);
      item.append(link);
      return item;
    }));
    if (words.length && !found.length) {
      const none = document.createElement("li");
      none.textContent = "nothing has all these words";
      list.append(none);
    }
    list.hidden = words.length === 0;
    chosen = -1;
  };
  const move = (step) => {
    const links = list.querySelectorAll("a");
    if (!links.length) return;
    chosen = (chosen + step + links.length) % links.length;
    links.forEach((link, index) => link.classList.toggle("on", index === chosen));
    links[chosen].scrollIntoView({ block: "nearest" });
  };
  box.addEventListener("input", show);
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      const links = list.querySelectorAll("a");
      if (links.length) links[Math.max(chosen, 0)].click();
    } else if (event.key === "Escape") {
      box.value = "";
      show();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) {
      event.preventDefault();
      box.focus();
    }
  });
})();
