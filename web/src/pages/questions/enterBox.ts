/** Moves the focus to where one answers or writes: the field of the box, or else the first option of what it answers. */
export function enterBox(): void {
  requestAnimationFrame(() => {
    const opened = document.getElementById("opened");
    const place = opened?.querySelector("footer textarea") ?? opened?.querySelector("[data-aimed] input");
    if (place instanceof HTMLElement) place.focus();
  });
}
