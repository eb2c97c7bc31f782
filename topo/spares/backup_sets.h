#pragma once
// The sets that may fail at once (backup.h), as bits: for each kind of set a matrix, places ×
// places, with a bit for every two places that are in one set of that kind. Internal to topo/.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "topo/solve/bit_rows.h"
#include "topo/spares/backup.h"

namespace robustrun::topo {

class BackupSets {
 public:
  explicit BackupSets(const BackupProblem& problem);

  [[nodiscard]] std::uint32_t places() const { return places_; }
  // Whether two places are in one set of that kind.
  [[nodiscard]] bool share(Together kind, PlaceIndex a, PlaceIndex b) const {
    const auto& rows = rows_[static_cast<std::size_t>(kind)];
    return rows && rows->test(a, b);
  }
  // By place: its possible keepers, never itself. Kinds of sets before Together(first) are ignored.
  [[nodiscard]] BitRows allowed(std::size_t first) const;
  // `allowed`, restricted to keepers below the same switch of that level.
  [[nodiscard]] BitRows near(const BitRows& allowed, std::size_t level) const;
  [[nodiscard]] std::size_t levels() const { return switch_at_.size(); }
  // By place: its keeper by the closed form, one position further in the dp group and in the pp
  // group, cyclically. Empty: the places form no grid of dp and pp.
  [[nodiscard]] const std::vector<PlaceIndex>& closed_form() const { return closed_form_; }
  // The names of that kind's sets, without "group": "pp or dp", "rack or leaf switch"; empty: no
  // set of that kind.
  [[nodiscard]] const std::string& name(Together kind) const {
    return names_[static_cast<std::size_t>(kind)];
  }

 private:
  void add_groups(const BackupProblem& problem);
  void add_physical(const BackupProblem& problem);
  void add(Together kind, const std::vector<PlaceIndex>& members, std::string_view name);
  template <class KeyOf>
  void add_by(Together kind, std::string_view name, KeyOf key_of);
  void find_closed_form(const Shape& shape);

  std::uint32_t places_;
  std::array<std::optional<BitRows>, kTogethers> rows_;
  std::array<std::string, kTogethers> names_;
  std::vector<std::vector<std::uint32_t>>
      switch_at_;  // by level, then place; a place without a known node has a switch of its own
  std::vector<PlaceIndex> closed_form_;
};

}  // namespace robustrun::topo
