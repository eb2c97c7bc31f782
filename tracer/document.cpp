#include "tracer/document.h"

#include <charconv>

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
                      "it holds more than " + std::to_string(kDocumentValuesMax) + " values");
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

}  // namespace robustrun::tracer
