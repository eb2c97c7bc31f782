#include "base/io/munge.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

namespace robustrun::base {
namespace {

constexpr const char* kSocket = "/run/munge/munge.socket.2";

// Prototypes as in munge.h 0.5; a null context means defaults, and 0 is success.
struct Library {
  int (*encode)(char** credential, void* context, const void* payload, int size) = nullptr;
  int (*decode)(const char* credential, void* context, void** payload, int* size, uid_t* uid,
                gid_t* gid) = nullptr;
  const char* (*words)(int error) = nullptr;
};

template <class F>
void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
}

Result<Library> load() {
  void* const handle = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
  Library library;
  if (handle != nullptr) {
    find(handle, "munge_encode", library.encode);
    find(handle, "munge_decode", library.decode);
    find(handle, "munge_strerror", library.words);
  }
  if (library.encode == nullptr || library.decode == nullptr || library.words == nullptr) {
    return fail(Errc::kUnavailable,
                "cannot use munge: libmunge.so.2 is not installed; use --secret-file");
  }
  return library;
}

}  // namespace

bool munge_is_here() {
  struct stat info{};
  return ::stat(kSocket, &info) == 0 && S_ISSOCK(info.st_mode);
}

Result<std::string> munge_encode(const std::string& payload) {
  const Library library = RR_TRY(load());
  char* credential = nullptr;
  const int error =
      library.encode(&credential, nullptr, payload.data(), static_cast<int>(payload.size()));
  std::string made = credential == nullptr ? std::string() : credential;
  std::free(credential);
  if (error == 0) return made;
  return fail(Errc::kUnavailable,
              std::string("cannot make a munge credential: ") + library.words(error));
}

Status munge_check(const std::string& credential, const std::string& payload) {
  const Library library = RR_TRY(load());
  void* found = nullptr;
  int size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  const int error = library.decode(credential.c_str(), nullptr, &found, &size, &uid, &gid);
  const std::string carried = found == nullptr ? std::string()
                                               : std::string(static_cast<const char*>(found),
                                                             static_cast<std::size_t>(size));
  std::free(found);
  if (error != 0) {
    return fail(Errc::kPermission,
                std::string("its munge credential is refused: ") + library.words(error));
  }
  if (uid != ::geteuid()) return fail(Errc::kPermission, "its munge credential is another user's");
  if (carried != payload) {
    return fail(Errc::kPermission, "its munge credential was made for something else");
  }
  return {};
}

}  // namespace robustrun::base
