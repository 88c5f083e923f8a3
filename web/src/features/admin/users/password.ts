/** Passwords that nobody has to think of. */

/** Letters and digits that are not mistaken for one another. */
const SIGNS = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const LENGTH = 20;

/** A random password of about 115 bits. */
export function generatePassword(): string {
  let password = "";
  // a byte beyond the last whole round of signs is thrown away: every sign is equally likely
  const limit = 256 - (256 % SIGNS.length);
  while (password.length < LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH))) {
      if (byte < limit && password.length < LENGTH) password += SIGNS.charAt(byte % SIGNS.length);
    }
  }
  return password;
}

/** A generated password is used when none was typed. */
export function chosenPassword(isGenerated: boolean, typed: string): string {
  return isGenerated ? generatePassword() : typed;
}
