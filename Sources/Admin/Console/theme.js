// Sets a remembered theme before the first paint. A module would run after it, and the other theme would flash.

"use strict";

try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing: it decides by itself.
}
