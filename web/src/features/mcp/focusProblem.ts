/**
 * After a form was refused: the first wrong field has the focus, so that it is seen and read out.
 */

export function focusFirstProblem(form: HTMLFormElement): void {
  requestAnimationFrame(() => {
    const wrong = form.querySelector<HTMLElement>('[aria-invalid="true"]');
    wrong?.focus();
  });
}
