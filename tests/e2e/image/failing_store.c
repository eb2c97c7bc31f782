/* For LD_PRELOAD: a file system that refuses what robustrun-blocks keeps. STORE_FAILS is
 * "CALL ERRNO COUNT": mkdir of a folder "blocks", or pwrite to a file "data", fail with ERRNO but
 * for the first COUNT of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int ends_with(const char* text, const char* end) {
  size_t length = strlen(text);
  return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

static int refused(const char* call) {
  static atomic_long calls;
  char name[16];
  int error = 0;
  long first = 0;
  const char* how = getenv("STORE_FAILS");
  if (!how || sscanf(how, "%15s %d %ld", name, &error, &first) != 3 || strcmp(name, call) != 0) {
    return 0;
  }
  if (atomic_fetch_add(&calls, 1) < first) return 0;
  errno = error;
  return 1;
}

int mkdir(const char* path, mode_t mode) {
  int (*next)(const char*, mode_t) = (int (*)(const char*, mode_t))dlsym(RTLD_NEXT, "mkdir");
  if (ends_with(path, "/blocks") && refused("mkdir")) return -1;
  return next(path, mode);
}

static int is_data(int fd) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return ends_with(path, "/data");
}

ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t offset) {
  ssize_t (*next)(int, const void*, size_t, off64_t) =
      (ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
  if (is_data(fd) && refused("pwrite")) return -1;
  return next(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  return pwrite64(fd, bytes, count, offset);
}
