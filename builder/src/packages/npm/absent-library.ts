/**
 * Replaces the libraries that Arborist uses for what never happens here: scripts, git, caches, signatures, unpacking. A
 * process whose program lacks the code cannot be made to run it.
 */
export {};
