#pragma once
// Plain values, as in JSON and pickles. read_json() and read_pickle() build a document; the readers
// of dumps query it.
//
// Values lie in one table and refer to each other by index, because a pickle may use one list a
// thousand times or put a list into itself. So never walk a whole document by recursion, and bound
// how much you copy out of it. Pure; bounded by limits.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/core/result.h"

namespace robustrun::tracer {

class Document;

// A view of one value. A default-constructed view is empty. Queries on an empty view, or on a value
// of another type, return an empty result. Valid as long as its document is neither moved nor
// destroyed.
class Value {
 public:
  Value() = default;
  [[nodiscard]] explicit operator bool() const { return document_ != nullptr; }
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  // Also accepts an integer written as text, as torch does in JSON.
  [[nodiscard]] std::optional<std::int64_t> integer_or_digits() const;
  [[nodiscard]] std::optional<double> number() const;  // also accepts an integer
  [[nodiscard]] std::optional<std::string_view> text() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_map() const;
  [[nodiscard]] std::size_t size() const;  // of a list or map; 0 for other values
  [[nodiscard]] Value at(std::size_t i) const;  // element of a list
  [[nodiscard]] Value operator[](std::string_view key) const;  // member of a map, in O(size)
  // The i-th member of a map. The key is empty if it is not a text.
  [[nodiscard]] std::pair<std::string_view, Value> member(std::size_t i) const;

 private:
  friend class Document;
  Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class Document {
 public:
  using Index = std::uint32_t;
  // Indices of these values in every document.
  static constexpr Index kNull = 0;
  static constexpr Index kFalse = 1;
  static constexpr Index kTrue = 2;

  Document();
  // The add functions fail with kLimit when the document already has kDocumentValuesMax values.
  [[nodiscard]] base::Result<Index> add_integer(std::int64_t value);
  [[nodiscard]] base::Result<Index> add_number(double value);
  [[nodiscard]] base::Result<Index> add_text(std::string_view value);
  [[nodiscard]] base::Result<Index> add_list();
  [[nodiscard]] base::Result<Index> add_map();
  // Both return false, and change nothing, if `list` is not a list or `map` is not a map.
  [[nodiscard]] bool append(Index list, Index element);
  [[nodiscard]] bool put(Index map, Index key, Index value);

  void set_root(Index index) { root_ = index; }
  [[nodiscard]] Value root() const { return {this, root_}; }

 private:
  friend class Value;
  struct List {
    std::vector<Index> elements;
  };
  struct Map {
    std::vector<std::pair<Index, Index>> members;
  };
  using Node = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Map>;
  base::Result<Index> add(Node node);
  template <class T>
  [[nodiscard]] const T* get(Index index) const {
    return std::get_if<T>(&nodes_[index]);
  }

  std::vector<Node> nodes_;
  Index root_ = kNull;
};

// Parses a JSON text. Fails with kCorrupt if it is not valid JSON, and with kLimit if it exceeds
// the bounds of limits.h.
[[nodiscard]] base::Result<Document> read_json(std::string_view text);

}  // namespace robustrun::tracer
