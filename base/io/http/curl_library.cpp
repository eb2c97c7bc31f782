#include "base/io/http/curl_library.h"

#include <dlfcn.h>

#include <string>

namespace robustrun::base {
namespace {

constexpr const char* kNames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

void* open_library() {
  for (const char* const name : kNames) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<CurlLibrary> load() {
  void* const library = open_library();
  if (library == nullptr) {
    const char* const cause = ::dlerror();
    return fail(Errc::kUnavailable,
                std::string("libcurl cannot be loaded (") + (cause ? cause : "no cause") +
                    "); install it: libcurl4 on Debian, Ubuntu and SLES, libcurl on RHEL");
  }
  CurlLibrary curl{};
  const bool is_whole = find(library, "curl_global_init", curl.global_init) &&
                        find(library, "curl_easy_init", curl.easy_init) &&
                        find(library, "curl_easy_setopt", curl.easy_setopt) &&
                        find(library, "curl_easy_perform", curl.easy_perform) &&
                        find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                        find(library, "curl_easy_strerror", curl.easy_strerror) &&
                        find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        find(library, "curl_slist_append", curl.slist_append) &&
                        find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!is_whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return fail(Errc::kUnavailable, "the libcurl of this machine cannot be started");
  }
  return curl;
}

}  // namespace

Result<const CurlLibrary*> load_curl() {
  static const Result<CurlLibrary> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

}  // namespace robustrun::base
