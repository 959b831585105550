/** Moves the focus to where one answers or writes: what offers its answers itself, or else the field of the box. */
export function enterBox(): void {
  requestAnimationFrame(() => {
    const opened = document.getElementById("opened");
    const place = opened?.querySelector("[data-aimed][data-enter]") ?? opened?.querySelector("footer textarea");
    if (place instanceof HTMLElement) place.focus();
  });
}
