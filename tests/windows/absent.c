/* absent.c - a DLL that a plugin needs (windows_plugins_test.c takes it away). */
__declspec(dllexport) int absent_number(void);

int absent_number(void) { return 7; }
