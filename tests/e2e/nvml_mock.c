/* libnvidia-ml.so.1 for tests, with the real library's names and calling convention. What it says
 * is in the file that NVML_MOCK names: "DRIVER COUNT", "fail CODE" or "hang". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int nvmlReturn_t;

static char word[80];
static unsigned number;

nvmlReturn_t nvmlInit_v2(void) {
  const char *path = getenv("NVML_MOCK");
  FILE *file = path ? fopen(path, "r") : NULL;
  if (!file || fscanf(file, "%79s %u", word, &number) < 1) return 12; /* LIBRARY_NOT_FOUND */
  fclose(file);
  while (strcmp(word, "hang") == 0) pause();
  return strcmp(word, "fail") == 0 ? (nvmlReturn_t)number : 0;
}

nvmlReturn_t nvmlShutdown(void) { return 0; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned length) {
  if (length <= strlen(word)) return 7; /* INSUFFICIENT_SIZE */
  strcpy(version, word);
  return 0;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) {
  *count = number;
  return 0;
}

const char *nvmlErrorString(nvmlReturn_t code) {
  return code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
