#pragma once
// One entry of a user's cache, as `robustrun cache` lists it.

#include <cstdint>
#include <string>

namespace robustrun::bootstrap {

enum class CacheKind : std::uint8_t {
  kSnapshot,  // of dependencies: deps/store.h
  kBlob,      // blocks of an image or a staged file: store/block_store.h
  kCode,      // of --sync-code: store/code_store.h
  kProfile,   // of hot files and blocks: hot/profile_store.h
};
[[nodiscard]] const char* word_for(CacheKind kind);

struct CacheEntry {
  CacheKind kind = CacheKind::kSnapshot;
  std::string name{};       // key in the cache; of a profile, its file's name
  std::string what{};       // what the entry was made from; empty: unknown
  std::uint64_t bytes = 0;  // on the disk
  std::int64_t made_s = 0;  // Unix time; 0: unknown
  std::int64_t used_s = 0;  // Unix time of the last use; 0: unknown
  bool in_use = false;
  std::string damage{};      // why the entry cannot be used as it is; empty: sound
  std::uint64_t here = 0;    // bytes of the blocks present; only for blobs
  std::uint64_t length = 0;  // of the whole blob; 0: unknown, or no blob
};

}  // namespace robustrun::bootstrap
