// Puts a button beside every text that is worth copying. Pages work without it.
"use strict";
if (navigator.clipboard) {
  for (const source of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = source.dataset.copy;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = source.dataset.copied || source.dataset.copy;
        setTimeout(() => { button.textContent = source.dataset.copy; }, 2000);
      } catch { /* The text can still be selected by hand. */ }
    });
    source.before(button);
  }
}
