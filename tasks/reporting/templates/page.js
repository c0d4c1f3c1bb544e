"use strict";
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const themes = ["system", "light", "dark"];
  const show = (theme) => {
    if (theme === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme);
    button.textContent = `Theme: ${theme}`;
    button.dataset.theme = theme;
  };
  // A page opened from disk may be refused its storage.
  const recall = () => { try { return localStorage.getItem("dat-theme"); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem("dat-theme", theme); } catch { /* not kept */ } };
  show(themes.includes(recall()) ? recall() : "system");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.dataset.theme) + 1) % themes.length];
    show(next);
    remember(next);
  });

  const many = 50;
  const tables = [...document.querySelectorAll("table.data")].map((element) => {
    const rows = Number(element.dataset.rows);
    const paged = rows > many;
    return new DataTable(element, {
      paging: paged,
      pageLength: many,
      lengthChange: false,
      searching: rows > 3,
      info: paged,
      order: [],
      autoWidth: false,
      layout: { topStart: "search", topEnd: null, bottomStart: paged ? "info" : null, bottomEnd: paged ? "paging" : null },
      language: { search: "Filter", searchPlaceholder: "any words" },
    });
  });
  for (const place of document.querySelectorAll(".dt-layout-table > .dt-layout-cell, .dt-layout-table")) {
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
  }
  addEventListener("beforeprint", () => tables.forEach((table) => table.page.len(-1).draw()));
  addEventListener("afterprint", () => tables.forEach((table) => table.page.len(many).draw()));

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => seen.observe(section));
})();
