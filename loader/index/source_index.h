#pragma once
// The samples of a source, from its files: how long each is, and where it lies. Blocks.
//
// Text is read as the tokens that `robustrun data prepare` has made of it: for each input file a
// data set in Megatron-LM's format. Its name has a hash of the recipe (but not of a transform's
// code) and of the input's and the tokenizer's path, size and time.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loader/index/megatron.h"
#include "loader/plan/spec.h"

namespace robustrun::loader {

struct IndexedFile {
  // PREFIX.bin, with the tokens; or the file with the text, if the source is in pieces or
  // estimated.
  std::string path;
  std::uint64_t first = 0;                 // its first sample's number in the source
  TokenType type = TokenType::kUint16;
  std::span<const std::uint64_t> offsets;  // bytes, of each sample; empty if there are no tokens
  std::string pieces{};                    // folder of its pieces (pieces.h)
};

struct SourceIndex {
  std::vector<IndexedFile> files;          // in the order of their samples
  std::span<const std::uint32_t> lengths;  // tokens of each sample
  bool estimated = false;  // `lengths` are estimates from bytes: some tokens do not exist yet
  // Set if the source is in pieces: its number of samples. `lengths` and the files' `offsets` are
  // then empty, and class Pieces reads them (pieces.h).
  std::optional<std::uint64_t> in_pieces;
  std::optional<std::uint64_t> known_fingerprint;
  std::shared_ptr<const void> memory;  // of the lengths and offsets

  [[nodiscard]] std::uint64_t samples() const { return in_pieces.value_or(lengths.size()); }
};

// An input file of a source that is text.
struct Input {
  std::string path;
  std::string tokens;  // prefix of its .idx and .bin, below Spec::cache
  bool is_prepared = false;
};

// Relative paths and patterns are relative to `folder`. A pattern's files are sorted by name. The
// error names the source and the path, even if that is a pattern that matches nothing.
[[nodiscard]] base::Result<std::vector<Input>> inputs_of(const Spec& spec, const Source& source,
                                                         const std::string& folder);

// The data sets in Megatron-LM's format that a source is read from, as prefixes, in the order of
// their samples; nullopt: one has not been made of its text yet. Errors: as above.
[[nodiscard]] base::Result<std::optional<std::vector<std::string>>> token_sets_of(
    const Spec& spec, const Source& source, const std::string& folder);

enum class Lengths : std::uint8_t {
  kExact,
  // If an input of uncompressed JSON lines has not been prepared, all samples of the source get
  // estimates from their bytes.
  kEstimates,
};
// Paths and errors: as above. Reads no files of a source in pieces (Source::texts).
[[nodiscard]] base::Result<SourceIndex> read_index(const Spec& spec, const Source& source,
                                                   const std::string& folder, Lengths lengths);

// Hash of the lengths and places of all samples, in their order: another value means other data.
// Computed even if known_fingerprint is set. Not for a source in pieces, whose lengths are not
// here: use known_fingerprint.
[[nodiscard]] std::uint64_t fingerprint(const SourceIndex& index);

}  // namespace robustrun::loader
