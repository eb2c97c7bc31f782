// JSON to a document, through nlohmann's events: its own tree would be without bounds.

#include <map>
#include <nlohmann/json.hpp>

#include "tracer/document.h"
#include "tracer/limits.h"

namespace robustrun::tracer {
namespace {

using base::Errc;
using nlohmann::json;

// Every function returns whether to go on; `error` says why not.
class Builder {
 public:
  bool null() { return place(Document::kNull); }
  bool boolean(bool value) { return place(value ? Document::kTrue : Document::kFalse); }
  bool number_integer(json::number_integer_t value) { return place(document_.add_integer(value)); }
  bool number_unsigned(json::number_unsigned_t value) {
    if (value > json::number_unsigned_t{INT64_MAX}) {
      return place(document_.add_number(static_cast<double>(value)));
    }
    return place(document_.add_integer(static_cast<std::int64_t>(value)));
  }
  bool number_float(json::number_float_t value, const json::string_t&) {
    return place(document_.add_number(value));
  }
  bool string(json::string_t& value) { return place(document_.add_text(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(document_.add_map()); }
  bool start_array(std::size_t) { return open(document_.add_list()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  // Dumps have the same few keys again and again.
  bool key(json::string_t& name) {
    const auto known = keys_.find(name);
    if (known != keys_.end()) {
      key_ = known->second;
      return true;
    }
    auto added = document_.add_text(name);
    if (!added) return refuse(std::move(added).error());
    key_ = *added;
    if (keys_.size() < kKeysKept) keys_.emplace(name, key_);
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const json::exception&) {
    return refuse({Errc::kCorrupt, 0, "it is no valid JSON (at byte " + std::to_string(at) + ")"});
  }

  base::Result<Document> finish(bool complete) && {
    if (!complete) return std::unexpected(std::move(error_));
    return std::move(document_);
  }

 private:
  static constexpr std::size_t kKeysKept = 256;

  bool refuse(base::Error error) {
    error_ = std::move(error);
    return false;
  }

  bool place(base::Result<Document::Index> added) {
    if (!added) return refuse(std::move(added).error());
    if (open_.empty()) {
      document_.set_root(*added);
      return true;
    }
    const bool placed =
        document_.append(open_.back(), *added) || document_.put(open_.back(), key_, *added);
    RR_ASSERT(placed);
    return true;
  }

  bool open(base::Result<Document::Index> added) {
    if (added && open_.size() >= kDocumentDepthMax) {
      return refuse({Errc::kLimit, 0, "it is nested too deeply"});
    }
    if (!place(added)) return false;
    open_.push_back(*added);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Document document_;
  std::vector<Document::Index> open_;
  std::map<std::string, Document::Index, std::less<>> keys_;
  Document::Index key_ = Document::kNull;
  base::Error error_{Errc::kCorrupt, 0, "it is no valid JSON"};
};

}  // namespace

base::Result<Document> read_json(std::string_view text) {
  if (text.size() > kDocumentBytesMax) {
    return base::fail(Errc::kLimit,
                      "it is longer than " + std::to_string(kDocumentBytesMax) + " bytes");
  }
  Builder builder;
  const bool complete = json::sax_parse(text, &builder);
  return std::move(builder).finish(complete);
}

}  // namespace robustrun::tracer
