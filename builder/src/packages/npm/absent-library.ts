/**
 * Stands for the libraries that Arborist has for what never happens here: scripts, git, caches, signatures, unpacking.
 * A process whose program lacks the code for it cannot be talked into it.
 */
export {};
