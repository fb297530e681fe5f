/** The user that the build process or the install process runs as. */
export interface BuildIdentity {
  uid: number;
  gid: number;
}
