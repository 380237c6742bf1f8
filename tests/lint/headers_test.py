"""headers.py finds what has no comment, and lets pass what has one in any of the ways of this tree."""
import headers

HEADER = """/* a.h - a header. */
#ifndef BURN_A_H
#define BURN_A_H

/* What both do. */
BURN_API void burn_both(int a,
                        int b);
BURN_API void burn_too(void);

BURN_API void burn_bare(void);
BURN_API int burn_trailing(void); /* how many */

/* -- a group ----------------
 *
 * All of them count. */

BURN_API void burn_grouped(void);

BURN_API void burn_grouped_far(void);

/* -- another group ---------- */

typedef struct BurnBare {
  int a; /* a member */
} BurnBare;

#define BURN_BARE_MACRO(x) \\
  do_it(x)

#define BURN_ROWS(X) X(BurnSize, n, "a text")

static inline int burn_inline_bare(void) {
  return 1; /* one */
}

/* Kinds. */
enum { BURN_KIND_A = 0 };
enum {
  BURN_KIND_B = 0 /* each with its own */
};

#endif
"""

named = {}
for item in headers.declarations(HEADER):
    name = headers.name_of(item.text) if isinstance(item, headers.Declaration) else None
    if name and not headers.rows_have_texts(item.text):
        named[name] = bool(item.comment)
bare = sorted(name for name, commented in named.items() if not commented)
assert bare == ["BURN_BARE_MACRO", "BurnBare", "burn_bare", "burn_inline_bare"], bare
assert {"burn_both", "burn_too", "burn_trailing", "burn_grouped", "burn_grouped_far", "BURN_KIND_A"} <= set(named), named
print("check: what is undocumented in a header is found")
