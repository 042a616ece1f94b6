"use strict";
// Finds the item of a link on this medium. The table `perdureNames` is in names.js.
(function () {
  const lengths = [4, 2]; // parts of a repository name, and of an opaque label
  const start = /^(?:.*\/)?(?:upn:[A-Za-z0-9]+-?:|ibi:)/i;
  const address = /^https?:\/\/[^/]+\/(?:(?:rep|ibi|col|archive\.cgi|attachment\.cgi)\/)?/i;

  function resolve(text) {
    const name = text.trim().split(/[?#]/)[0].replace(start, "").replace(address, "");
    const parts = name.split("/");
    for (const length of lengths) {
      const label = parts.slice(0, length).join("/");
      const key = [label, label.toLowerCase()].find((name) => Object.hasOwn(perdureNames, name));
      if (key === undefined) continue;
      const found = perdureNames[key];
      const path = parts.slice(length).filter(Boolean);
      if (path[0] === "doc" && text.includes("/doc/") && !text.includes("upn:")) path.shift();
      const names = path.map(decode);
      if (names.includes(".") || names.includes("..")) return null; // it would lead out of the item
      return names.length ? found[1] + names.map(writeName).join("/") : found[0];
    }
    return null;
  }

  function decode(text) {
    try { return decodeURIComponent(text); } catch { return text; } // it is not encoded
  }

  // The names of files are escaped where Windows does not accept them.
  function writeName(text) {
    const safe = text.replace(/[<>:"|?*=]/g, (mark) => "=u" + mark.charCodeAt(0).toString(16).padStart(4, "0"));
    return encodeURIComponent(safe);
  }

  function open(text) {
    const to = resolve(text);
    if (to) location.href = to;
    else document.getElementById("answer").textContent = "This item is not on this medium.";
  }

  document.getElementById("resolve").addEventListener("submit", function (event) {
    event.preventDefault();
    open(document.getElementById("link").value);
  });
  function openFragment() {
    if (location.hash.length > 1) open(decode(location.hash.slice(1)));
  }
  window.addEventListener("hashchange", openFragment);
  openFragment();
})();
