// Lengths of samples from any bytes, and a specification of data with them: never a crash, and a
// step that is planned holds what it says.
// Seeds: tests/fuzz/seeds/data_index

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/core/result.h"
#include "cli/data/spec_file.h"
#include "loader/index/json_lines.h"
#include "loader/index/megatron.h"
#include "loader/index/pieces.h"
#include "loader/plan/planner.h"

using namespace robustrun;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(loader::parse_megatron_index(text));
  const std::uint64_t file_bytes = size + 64;
  if (const auto piece = loader::parse_piece(text, 2, file_bytes)) {
    for (std::size_t i = 0; i < 2; ++i) {
      RR_ASSERT(piece->offsets[i] + std::uint64_t{piece->lengths[i]} * bytes_of(piece->type) <=
                file_bytes);
    }
  }
  loader::JsonLineScanner scanner;
  if (scanner.add(text.substr(0, size / 2)) && scanner.add(text.substr(size / 2))) {
    scanner.finish();
  }
  const auto spec = cli::parse_data_spec(text, "data.toml");
  if (!spec || spec->batch.bins > 1024) return 0;
  const std::vector<std::uint32_t> lengths{1, 5, 900, 30'000};
  const std::vector all(spec->sources.size(), loader::SampleLengths(lengths));
  auto planner = loader::Planner::open(*spec, all);
  RR_ASSERT(planner);
  const auto plan = planner->next();
  if (!plan) return 0;
  for (const loader::Bin& bin : plan->bins) RR_ASSERT(bin.tokens <= spec->batch.context);
  return 0;
}
