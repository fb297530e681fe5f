/** A Debian package that the tests need on the machine. */
export interface SystemPackage {
  name: string;
  /** A program that is looked up in PATH, or an absolute path: it is there when the package is. */
  provides: string;
}

/** What the tests need beyond `npm ci`. Add a line when a suite needs a program. */
export const systemPackages: readonly SystemPackage[] = [
  { name: "ca-certificates", provides: "/etc/ssl/certs/ca-certificates.crt" },
  { name: "curl", provides: "curl" },
  { name: "git", provides: "git" },
  { name: "openssl", provides: "openssl" },
];
