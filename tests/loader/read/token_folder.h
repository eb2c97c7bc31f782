#pragma once
// A data set to read batches from.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/core/clock.h"
#include "loader/index/megatron.h"
#include "loader/plan/spec.h"

namespace robustrun::loader_test {

// A folder with one data set of `samples` samples of `length` tokens; token = sample * 1000 +
// place.
class Folder {
 public:
  Folder(std::uint32_t samples, std::uint32_t length) {
    path_ =
        std::filesystem::temp_directory_path() / ("rr-feed-" + std::to_string(base::system_seed()));
    std::filesystem::create_directory(path_);
    std::ofstream index(path_ / "set.idx", std::ios::binary);
    std::ofstream tokens(path_ / "set.bin", std::ios::binary);
    const auto put = [](std::ofstream& file, auto value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    index.write("MMIDIDX\0\0", 9);
    put(index, std::uint64_t{1});
    put(index, static_cast<std::uint8_t>(loader::TokenType::kInt32));
    put(index, std::uint64_t{samples});
    put(index, std::uint64_t{1});
    for (std::uint32_t i = 0; i < samples; ++i) put(index, static_cast<std::int32_t>(length));
    for (std::uint32_t i = 0; i < samples; ++i) put(index, std::int64_t{4} * i * length);
    put(index, std::int64_t{0});
    for (std::uint32_t i = 0; i < samples; ++i) {
      for (std::uint32_t j = 0; j < length; ++j)
        put(tokens, static_cast<std::int32_t>(i * 1000 + j));
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::filesystem::path tokens() const { return path_ / "set.bin"; }

 private:
  std::filesystem::path path_;
};

inline loader::Spec spec_of(std::uint32_t context, std::uint32_t bins) {
  loader::Spec spec;
  spec.sources.push_back({"set", loader::Format::kMegatron, {"set"}, 4, {{0, 1'000'000}}});
  spec.batch.context = context;
  spec.batch.bins = bins;
  return spec;
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace robustrun::loader_test
