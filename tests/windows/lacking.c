/* lacking.c - makes a plugin need the DLL of absent.c. */
int absent_number(void);
int lacking_number(void);

int lacking_number(void) { return absent_number(); }
