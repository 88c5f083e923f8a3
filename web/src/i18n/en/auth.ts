/** Signing in, and the account. */

export const auth = {
  title: "Sign in",
  username: "User name",
  password: "Password",
  submit: "Sign in",
  wrong: "User name or password is wrong.",
  tooMany: "Too many attempts. Wait a little and try again.",
  linkHint:
    "First start? Open the link that the server printed in its terminal, or ask your administrator for an account.",
  expiredTitle: "Your sign-in has ended",
  expiredText: "Sign in again to go on. What you typed is kept.",
  changePassword: "Change password",
  oldPassword: "Current password",
  newPassword: "New password",
  repeatPassword: "New password, again",
  oldWrong: "The current password is wrong.",
  passwordsDiffer: "The two new passwords are not the same.",
  passwordChanged: "The password is changed.",
  keepKeys: "Keep my API keys valid",
};
