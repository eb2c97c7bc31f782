#include "cli/data/spec_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/core/text.h"
#include "cli/options/toml_reader.h"
#include "cli/options/toml_tree.h"

namespace robustrun::cli {
namespace {

using base::Result;
using base::Status;
using loader::Spec;

constexpr double kMillion = 1e6;
constexpr std::int64_t kWholeMost = std::numeric_limits<std::uint32_t>::max();

class SpecReader : TomlReader {
 public:
  explicit SpecReader(const std::string& path) : TomlReader(path) {}

  Result<Spec> read(const TomlValue& file) {
    for (const TomlEntry& entry : file.entries) RR_TRY(take(entry));
    RR_TRY(set_weights());
    RR_TRY(set_bins());
    if (const auto checked = loader::check(spec_); !checked) {
      return base::fail(checked.error().code, fmt::format("{}: {}", path(), checked.error().what));
    }
    return std::move(spec_);
  }

 private:
  Status take(const TomlEntry& entry) {
    const std::string& key = entry.key;
    if (key == "seed") return whole(entry, 0, std::numeric_limits<std::int64_t>::max(), spec_.seed);
    if (key == "cache") return text(entry, spec_.cache);
    if (key == "prepare") {
      return choice(entry, {{"before", false}, {"training", true}}, spec_.while_training);
    }
    if (key == "source") return sources(entry);
    if (key == "mixture") return mixture(entry);
    if (key == "batch") return table(entry, &SpecReader::batch);
    if (key == "shuffle") return table(entry, &SpecReader::shuffle);
    if (key == "balance") return table(entry, &SpecReader::balance);
    if (key == "resources") return table(entry, &SpecReader::resources);
    return unknown(entry, {"seed", "cache", "prepare", "source", "mixture", "batch", "shuffle",
                           "balance", "resources"});
  }

  Status table(const TomlEntry& entry, Status (SpecReader::*take_key)(const TomlEntry&)) {
    if (entry.value.type != TomlValue::Type::kTable) {
      return wrong_type(entry, fmt::format("a table: [{}]", entry.key));
    }
    for (const TomlEntry& key : entry.value.entries) RR_TRY((this->*take_key)(key));
    return {};
  }

  Status sources(const TomlEntry& entry) {
    const bool tables = entry.value.type == TomlValue::Type::kArray;
    if (!tables) return wrong_type(entry, "tables: [[source]]");
    for (const TomlValue& item : entry.value.items) {
      if (item.type != TomlValue::Type::kTable) return wrong_type(entry, "tables: [[source]]");
      loader::Source source;
      for (const TomlEntry& key : item.entries) RR_TRY(source_key(key, source));
      spec_.sources.push_back(std::move(source));
    }
    return {};
  }

  Status source_key(const TomlEntry& entry, loader::Source& source) {
    const std::string& key = entry.key;
    if (key == "name") return text(entry, source.name);
    if (key == "paths") return texts(entry, source.paths);
    if (key == "bytes_per_token") return whole(entry, 1, 1000, source.bytes_per_token);
    if (key == "format") {
      return choice(entry,
                    {{"megatron", loader::Format::kMegatron},
                     {"jsonl", loader::Format::kJsonLines},
                     {"parquet", loader::Format::kParquet},
                     {"arrow", loader::Format::kArrow}},
                    source.format);
    }
    if (key == "column") return text(entry, source.recipe.column);
    if (key == "tokenizer") return text(entry, source.recipe.tokenizer);
    if (key == "transform") return text(entry, source.recipe.transform);
    if (key == "end") {
      return whole(entry, 0, std::numeric_limits<std::int32_t>::max(), source.recipe.end.emplace());
    }
    std::uint32_t skips = 0;
    if (key == "max_skips") return whole(entry, 0, kWholeMost, skips);
    return unknown(entry, {"name", "format", "paths", "bytes_per_token", "column", "tokenizer",
                           "transform", "end", "max_skips"});
  }

  // Sources may stand behind the mixture, so weights wait.
  Status mixture(const TomlEntry& entry) {
    if (entry.value.type != TomlValue::Type::kTable) return wrong_type(entry, "a table: [mixture]");
    for (const TomlEntry& source : entry.value.entries) {
      std::vector<loader::WeightPoint> points;
      if (source.value.type == TomlValue::Type::kArray) {
        for (const TomlValue& point : source.value.items) {
          if (point.type != TomlValue::Type::kArray || point.items.size() != 2 ||
              point.items[0].type != TomlValue::Type::kInteger || point.items[0].integer < 0) {
            return wrong_type(source, "a weight, or points [step, weight]");
          }
          const auto weight = millionths(point.items[1]);
          if (!weight) return wrong_type(source, "a weight, or points [step, weight]");
          points.push_back({static_cast<std::uint64_t>(point.items[0].integer), *weight});
        }
      } else {
        const auto weight = millionths(source.value);
        if (!weight) return wrong_type(source, "a weight, or points [step, weight]");
        points.push_back({0, *weight});
      }
      weights_.push_back({source, std::move(points)});
    }
    return {};
  }

  Status set_weights() {
    // Without [mixture] all have the same weight.
    if (weights_.empty()) {
      for (loader::Source& source : spec_.sources) {
        source.weight = {{0, static_cast<std::uint64_t>(kMillion)}};
      }
    }
    for (auto& [entry, points] : weights_) {
      loader::Source* found = nullptr;
      std::vector<std::string> names;
      for (loader::Source& source : spec_.sources) {
        names.push_back(source.name);
        if (source.name == entry.key) found = &source;
      }
      if (found == nullptr) return unknown(entry, names);
      found->weight = std::move(points);
    }
    return {};
  }

  Status batch(const TomlEntry& entry) {
    const std::string& key = entry.key;
    auto& batch = spec_.batch;
    if (key == "tokens") {
      tokens_at_ = entry.at;
      return whole(entry, 1, std::numeric_limits<std::int64_t>::max(), tokens_);
    }
    if (key == "context") return whole(entry, 1, loader::kContextMax, batch.context);
    if (key == "micro") return whole(entry, 1, loader::kBinsPerStepMax, batch.micro);
    if (key == "pack") {
      return choice(entry,
                    {{"next-fit", loader::Pack::kNextFit}, {"best-fit", loader::Pack::kBestFit}},
                    batch.pack);
    }
    if (key == "leftover") {
      return choice(entry,
                    {{"carry", loader::Leftover::kCarry},
                     {"pad", loader::Leftover::kPad},
                     {"drop", loader::Leftover::kDrop}},
                    batch.leftover);
    }
    if (key == "long") {
      return choice(entry,
                    {{"split", loader::Long::kSplit},
                     {"truncate", loader::Long::kTruncate},
                     {"error", loader::Long::kRefuse}},
                    batch.longer);
    }
    return unknown(entry, {"tokens", "context", "micro", "pack", "leftover", "long"});
  }

  Status set_bins() {
    const auto bins = loader::bins_of(tokens_, spec_.batch.context);
    if (!bins) return error(tokens_at_, bins.error().what);
    spec_.batch.bins = *bins;
    return {};
  }

  // What only python/robustrun/_data uses, as `max_skips`.
  Status resources(const TomlEntry& entry) {
    std::uint32_t processes = 0;
    if (entry.key == "cpus") return whole(entry, 1, 1024, processes);
    return unknown(entry, {"cpus"});
  }

  Status shuffle(const TomlEntry& entry) {
    if (entry.key == "block") return whole(entry, 1, kWholeMost, spec_.shuffle.block);
    if (entry.key == "window") return whole(entry, 1, kWholeMost, spec_.shuffle.window);
    return unknown(entry, {"block", "window"});
  }

  Status balance(const TomlEntry& entry) {
    if (entry.key == "sync") {
      return choice(entry, {{"step", loader::Sync::kStep}, {"micro", loader::Sync::kMicro}},
                    spec_.balance.sync);
    }
    if (entry.key != "cost") return unknown(entry, {"cost", "sync"});
    if (entry.value.type != TomlValue::Type::kTable) return wrong_type(entry, "{ a = …, b = … }");
    spec_.balance.linear = 0;
    for (const TomlEntry& part : entry.value.entries) {
      const auto number = number_of(part.value);
      const double most = part.key == "a" ? 1000 : 1;
      if (part.key != "a" && part.key != "b") return unknown(part, {"a", "b"});
      if (!number || !(*number >= 0 && *number <= most)) {
        return wrong_type(part, fmt::format("a number from 0 to {}", most));
      }
      // b * L^2 in millionths is square * L^2 / 1000.
      if (part.key == "a") spec_.balance.linear = rounded(*number * kMillion);
      if (part.key == "b") spec_.balance.square = rounded(*number * 1000 * kMillion);
    }
    return {};
  }

  static std::uint64_t rounded(double number) {
    return static_cast<std::uint64_t>(std::llround(number));
  }
  static std::optional<double> number_of(const TomlValue& value) {
    if (value.type == TomlValue::Type::kInteger) return static_cast<double>(value.integer);
    if (value.type == TomlValue::Type::kNumber) return value.number;
    return std::nullopt;
  }
  static std::optional<std::uint64_t> millionths(const TomlValue& value) {
    const auto number = number_of(value);
    if (!number || !(*number >= 0 && *number <= loader::kWeightMax / kMillion)) return std::nullopt;
    return rounded(*number * kMillion);
  }

  Status text(const TomlEntry& entry, std::string& out) {
    if (entry.value.type != TomlValue::Type::kString || entry.value.text.empty()) {
      return wrong_type(entry, "a string");
    }
    out = base::printable(entry.value.text);
    return {};
  }
  Status texts(const TomlEntry& entry, std::vector<std::string>& out) {
    const bool array = entry.value.type == TomlValue::Type::kArray;
    for (const TomlValue& item : array ? entry.value.items : std::vector{entry.value}) {
      if (item.type != TomlValue::Type::kString || item.text.empty()) {
        return wrong_type(entry, "a string or an array of strings");
      }
      out.push_back(item.text);
    }
    return {};
  }
  template <class T>
  Status whole(const TomlEntry& entry, std::int64_t least, std::int64_t most, T& out) {
    const TomlValue& value = entry.value;
    if (value.type != TomlValue::Type::kInteger || value.integer < least || value.integer > most) {
      return wrong_type(entry, fmt::format("a whole number from {} to {}", least, most));
    }
    out = static_cast<T>(value.integer);
    return {};
  }
  template <class T>
  Status choice(const TomlEntry& entry, const std::vector<std::pair<std::string, T>>& choices,
                T& out) {
    std::vector<std::string> words;
    for (const auto& [word, value] : choices) {
      words.push_back(word);
      if (entry.value.type == TomlValue::Type::kString && entry.value.text == word) {
        out = value;
        return {};
      }
    }
    return wrong_type(entry, "one of " + base::join(words, ", "));
  }

  Spec spec_;
  std::uint64_t tokens_ = 0;
  TomlAt tokens_at_{1, 1};
  std::vector<std::pair<TomlEntry, std::vector<loader::WeightPoint>>> weights_;
};

}  // namespace

Result<Spec> parse_data_spec(std::string_view text, const std::string& path) {
  const TomlValue file = RR_TRY(parse_toml(text, path));
  return SpecReader(path).read(file);
}

}  // namespace robustrun::cli
