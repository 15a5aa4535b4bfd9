// Values and groups of them that are dragged onto one another. Whatever is done is written into the fields of the form,
// which stay the whole truth, and the way for the keyboard.
"use strict";

(() => {
  const LONGEST = 200;
  const given = new Set(); // names of groups that nobody has named
  let held = []; // fields of what is dragged

  const fields = () => [...document.querySelectorAll(".groups input")];
  const groupOf = (field) => field.value.trim();
  const alone = (field) => (field.name === "rare" ? "other" : ""); // rare values always have a group
  const headOf = (field) => field.closest("tr").querySelector("th");
  const valueOf = (field) => headOf(field).firstChild?.textContent.trim() ?? "";
  const meaningOf = (field) => headOf(field).querySelector(".meaning")?.textContent ?? "";
  const shownOf = (field) => [valueOf(field), meaningOf(field)].filter(Boolean).join(" · ");

  // Name of a group that nobody has named: that of its values, in the order of the page.
  function label(members) {
    const values = fields().filter((field) => members.includes(field)).map(valueOf);
    const named = values.length < 4 ? values.join(", ") : `${values[0]}, ${values[1]} and ${values.length - 2} more`;
    return named.slice(0, LONGEST);
  }

  // Fields that belong together: those of one group, and each without a group by itself.
  function parts() {
    const found = new Map();
    for (const field of fields()) {
      const key = groupOf(field) || field;
      found.set(key, [...(found.get(key) ?? []), field]);
    }
    return [...found.values()];
  }

  function isNamed(members) {
    return groupOf(members[0]) !== "" && !given.has(groupOf(members[0]));
  }

  // Put the held values into the group of others, or by themselves where there are none.
  function move(onto) {
    const whole = parts().find((members) => members.length === held.length && members.every((one) => held.includes(one)));
    const namesake = [onto, whole ?? []].find((members) => members.length > 0 && isNamed(members));
    const name = namesake ? groupOf(namesake[0]) : label([...onto, ...held]);
    if (!namesake) given.add(name);
    for (const field of [...onto, ...held]) field.value = onto.length > 0 ? name : alone(field);
    fields()[0].dispatchEvent(new Event("change", { bubbles: true }));
  }

  // Groups that nobody has named are named by what is in them, and are none where that is one value.
  function rename() {
    for (const members of parts()) {
      if (members.length > 1 && groupOf(members[0]) === label(members)) given.add(label(members));
      if (!given.has(groupOf(members[0]))) continue;
      const name = members.length > 1 ? label(members) : alone(members[0]);
      if (members.length > 1) given.add(name);
      for (const field of members) field.value = name;
    }
  }

  function element(kind, text, own) {
    const made = document.createElement("div");
    made.className = kind;
    made.textContent = text;
    made.fields = own;
    made.draggable = own !== null;
    return made;
  }

  function draw() {
    const place = document.querySelector(".board > div");
    if (place === null) return;
    rename();
    place.replaceChildren(
      ...parts().map((members) => {
        const name = groupOf(members[0]);
        if (name === "") return element("part", shownOf(members[0]), members);
        const group = element("part group", "", members);
        group.append(element("name", name, null), ...members.map((field) => element("value", shownOf(field), [field])));
        return group;
      }),
    );
    place.parentElement.hidden = false;
  }

  function mark(part) {
    for (const one of document.querySelectorAll(".board .over")) one.classList.remove("over");
    part?.classList.add("over");
  }

  const boardOf = (event) => event.target.closest?.(".board") ?? null;
  const partOf = (event) => event.target.closest(".part");

  document.addEventListener("dragstart", (event) => {
    if (boardOf(event) === null) return;
    held = event.target.fields ?? [];
    event.dataTransfer.setData("application/x-releasegate", "");
    event.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragover", (event) => {
    if (boardOf(event) === null || held.length === 0) return;
    event.preventDefault();
    mark(partOf(event));
  });
  document.addEventListener("drop", (event) => {
    if (boardOf(event) === null || held.length === 0) return;
    event.preventDefault();
    const onto = partOf(event)?.fields ?? [];
    if (!held.every((field) => onto.includes(field))) move(onto);
    held = []; // what was dragged is drawn anew, so that its end is not heard
  });
  document.addEventListener("dragend", () => {
    held = [];
    draw();
  });
  document.addEventListener("change", (event) => {
    if (event.target.closest(".groups") !== null) draw();
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (held.length === 0) draw(); // what is being dragged stays where it is
  });
  draw();
})();
