#include "probe/result.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/core/text.h"
#include "probe/limits.h"

namespace robustrun::probe {
namespace {

using nlohmann::json;

constexpr std::string_view kBegin = R"({"probe":)";
constexpr int kVersion = 1;

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  return found->get<std::string>().substr(0, kTextBytesMax);
}

// Passes at most `most` elements of a list to `take`; none if the list is missing.
template <class Take>
void each(const json& object, const char* name, std::size_t most, Take take) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return;
  for (std::size_t i = 0; i < std::min(found->size(), most); ++i) take((*found)[i]);
}

bool has_gpu(const json& item, std::size_t gpus) {
  const auto found = item.is_object() ? item.find("gpu") : item.end();
  return found != item.end() && found->is_number_unsigned() && found->get<std::uint64_t>() < gpus;
}

void read_figures(const json& object, base::GpuFacts& facts) {
  each(object, "figures", kFiguresMax, [&](const json& item) {
    if (!has_gpu(item, facts.models.size())) return;
    const auto value = item.find("value");
    if (value == item.end() || !value->is_number()) return;
    base::GpuFigure figure{item["gpu"].get<std::uint32_t>(), text_of(item, "what"),
                           text_of(item, "unit"), value->get<double>()};
    const bool counts = !figure.what.empty() && std::isfinite(figure.value) && figure.value > 0;
    if (counts) facts.figures.push_back(std::move(figure));
  });
}

void read_sums(const json& object, base::GpuFacts& facts) {
  each(object, "sums", kSumsMax, [&](const json& item) {
    if (!has_gpu(item, facts.models.size())) return;
    const std::string digits = text_of(item, "sum");
    base::GpuSum sum{item["gpu"].get<std::uint32_t>(), text_of(item, "what"), 0};
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, sum.sum, 16);
    if (parsed.ec == std::errc{} && parsed.ptr == end) facts.sums.push_back(std::move(sum));
  });
}

// Text within another line is no result, even if it begins like one.
json parsed(std::string_view output) {
  std::size_t at = output.rfind(kBegin);
  while (at != output.npos && at > 0 && output[at - 1] != '\n') {
    at = output.rfind(kBegin, at - 1);
  }
  if (at == output.npos) return {};
  const std::string_view line = output.substr(at, output.find('\n', at) - at);
  if (line.size() > kResultBytesMax) return {};
  return json::parse(line, nullptr, false);
}

}  // namespace

std::string write_result(const std::string& test, const base::GpuFacts& facts) {
  json object = {{"test", test},          {"error", facts.error},
                 {"gpus", facts.models},  {"figures", json::array()},
                 {"sums", json::array()}, {"faults", facts.faults}};
  for (const base::GpuFigure& figure : facts.figures) {
    object["figures"].push_back({{"gpu", figure.gpu},
                                 {"what", figure.what},
                                 {"unit", figure.unit},
                                 {"value", figure.value}});
  }
  for (const base::GpuSum& sum : facts.sums) {
    object["sums"].push_back(
        {{"gpu", sum.gpu}, {"what", sum.what}, {"sum", fmt::format("{:016x}", sum.sum)}});
  }
  const std::string rest = object.dump(-1, ' ', false, json::error_handler_t::replace);
  return fmt::format("{}{},{}\n", kBegin, kVersion, rest.substr(1));
}

base::Result<base::GpuFacts> read_result(const std::string& test, std::string_view output) {
  const json object = parsed(output);
  const auto version = object.is_object() ? object.find("probe") : object.end();
  if (version == object.end() || *version != kVersion || text_of(object, "test") != test) {
    return base::fail(base::Errc::kProtocol, "its answer makes no sense");
  }
  base::GpuFacts facts;
  facts.error = text_of(object, "error");
  each(object, "gpus", kGpusMax, [&](const json& model) {
    facts.models.push_back(model.is_string() ? model.get<std::string>().substr(0, kTextBytesMax)
                                             : std::string("?"));
  });
  read_figures(object, facts);
  read_sums(object, facts);
  each(object, "faults", kFaultsMax, [&](const json& fault) {
    if (fault.is_string())
      facts.faults.push_back(fault.get<std::string>().substr(0, kTextBytesMax));
  });
  if (facts.error.empty() && facts.models.empty()) facts.error = "it tested no GPU";
  return facts;
}

}  // namespace robustrun::probe
