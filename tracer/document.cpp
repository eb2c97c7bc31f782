#include "tracer/document.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/core/text.h"
#include "tracer/limits.h"

namespace robustrun::tracer {

using base::Errc;

Document::Document() {
  nodes_.emplace_back(std::monostate());
  nodes_.emplace_back(false);
  nodes_.emplace_back(true);
}

base::Result<Document::Index> Document::add(Node node) {
  if (nodes_.size() >= kDocumentValuesMax) {
    return base::fail(Errc::kLimit,
                      "it contains more than " + std::to_string(kDocumentValuesMax) + " values");
  }
  nodes_.push_back(std::move(node));
  return static_cast<Index>(nodes_.size() - 1);
}

base::Result<Document::Index> Document::add_integer(std::int64_t value) { return add(value); }
base::Result<Document::Index> Document::add_number(double value) { return add(value); }
base::Result<Document::Index> Document::add_text(std::string_view value) {
  return add(std::string(value));
}
base::Result<Document::Index> Document::add_list() { return add(List{}); }
base::Result<Document::Index> Document::add_map() { return add(Map{}); }

bool Document::append(Index list, Index element) {
  RR_ASSERT(list < nodes_.size() && element < nodes_.size());
  List* const found = std::get_if<List>(&nodes_[list]);
  if (found == nullptr) return false;
  found->elements.push_back(element);
  return true;
}

bool Document::put(Index map, Index key, Index value) {
  RR_ASSERT(map < nodes_.size() && key < nodes_.size() && value < nodes_.size());
  Map* const found = std::get_if<Map>(&nodes_[map]);
  if (found == nullptr) return false;
  found->members.emplace_back(key, value);
  return true;
}

std::optional<bool> Value::boolean() const {
  if (document_ == nullptr) return std::nullopt;
  const bool* const value = document_->get<bool>(index_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> Value::integer() const {
  if (document_ == nullptr) return std::nullopt;
  const std::int64_t* const value = document_->get<std::int64_t>(index_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::int64_t> Value::integer_or_digits() const {
  if (const auto digits = text()) {
    const auto parsed = base::parse_int<std::int64_t>(*digits);
    return parsed ? std::optional(*parsed) : std::nullopt;
  }
  return integer();
}

std::optional<double> Value::number() const {
  if (document_ == nullptr) return std::nullopt;
  if (const double* const value = document_->get<double>(index_)) return *value;
  const auto whole = integer();
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<std::string_view> Value::text() const {
  if (document_ == nullptr) return std::nullopt;
  const std::string* const value = document_->get<std::string>(index_);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

bool Value::is_list() const {
  return document_ != nullptr && document_->get<Document::List>(index_) != nullptr;
}

bool Value::is_map() const {
  return document_ != nullptr && document_->get<Document::Map>(index_) != nullptr;
}

std::size_t Value::size() const {
  if (document_ == nullptr) return 0;
  if (const auto* const list = document_->get<Document::List>(index_)) return list->elements.size();
  if (const auto* const map = document_->get<Document::Map>(index_)) return map->members.size();
  return 0;
}

Value Value::at(std::size_t i) const {
  if (!is_list() || i >= size()) return {};
  return {document_, document_->get<Document::List>(index_)->elements[i]};
}

std::pair<std::string_view, Value> Value::member(std::size_t i) const {
  if (!is_map() || i >= size()) return {};
  const auto [key, value] = document_->get<Document::Map>(index_)->members[i];
  const std::string* const name = document_->get<std::string>(key);
  return {name == nullptr ? std::string_view() : std::string_view(*name), Value(document_, value)};
}

Value Value::operator[](std::string_view key) const {
  if (!is_map()) return {};
  for (const auto& [name, value] : document_->get<Document::Map>(index_)->members) {
    const std::string* const text = document_->get<std::string>(name);
    if (text != nullptr && *text == key) return {document_, value};
  }
  return {};
}

namespace {

using nlohmann::json;

// Handler of nlohmann's SAX events; nlohmann's own tree would be unbounded. Each function returns
// whether to continue; finish() returns the error otherwise.
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
  // Dumps repeat the same few keys, so each is stored once.
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
    return refuse({Errc::kCorrupt, 0, "it is not valid JSON (at byte " + std::to_string(at) + ")"});
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
  base::Error error_{Errc::kCorrupt, 0, "it is not valid JSON"};
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
