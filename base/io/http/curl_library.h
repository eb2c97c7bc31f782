#pragma once
// The host's libcurl. It is loaded at the first use and stays; it is not linked, because the
// libraries that it needs differ between distributions, and most runs do not use it. Any thread.

#define CURL_DISABLE_DEPRECATION  // versions before 7.85 know only the older names
#include <curl/curl.h>

#include "base/core/result.h"

namespace robustrun::base {

// libcurl's functions, named as in curl.h without the prefix `curl_`.
struct CurlLibrary {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
};

// The library, ready for use. kUnavailable: it cannot be loaded (the text says what to install), or
// it cannot be started. Every call gives the same result.
[[nodiscard]] Result<const CurlLibrary*> load_curl();

}  // namespace robustrun::base
