#include "bootstrap/store/cache_entry.h"

namespace robustrun::bootstrap {

const char* word_for(CacheKind kind) {
  switch (kind) {
    case CacheKind::kSnapshot: return "snapshot";
    case CacheKind::kBlob: return "blob";
    case CacheKind::kCode: return "code";
    case CacheKind::kProfile: return "profile";
  }
  return "";
}

}  // namespace robustrun::bootstrap
