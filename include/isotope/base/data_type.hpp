// DataType: an element type as a value, for tables, other languages and calls whose type is known at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "isotope/base/float16.hpp"
#include "isotope/base/macros.hpp"

namespace isotope {

enum class DataType : std::int32_t {
#define X(name, type) name,
#include "isotope/base/data_types.def"
#undef X
};

namespace detail {
template <class T>
struct DataTypeOf;
#define X(name, type)                                 \
  template <>                                         \
  struct DataTypeOf<type> {                           \
    static constexpr DataType value = DataType::name; \
  };
#include "isotope/base/data_types.def"
#undef X

// `long long` and `long` are two types of the same size, and only one of them is std::int64_t.
template <class T>
using Canonical = std::conditional_t<
    std::is_same_v<T, long long>, std::int64_t,
    std::conditional_t<std::is_same_v<T, unsigned long long>, std::uint64_t,
                       std::conditional_t<std::is_same_v<T, char>,
                                          std::conditional_t<std::is_signed_v<char>, std::int8_t, std::uint8_t>, T>>>;
}  // namespace detail

template <class T>
inline constexpr DataType data_type_of = detail::DataTypeOf<detail::Canonical<T>>::value;

/// Bytes of one element; 0 for a value that is no type.
constexpr std::size_t size_of(DataType type) {
  switch (type) {
#define X(name, type_) \
  case DataType::name: \
    return sizeof(type_);
#include "isotope/base/data_types.def"
#undef X
  }
  return 0;
}

/// "f32"; "?" for a value that is no type.
constexpr const char* name_of(DataType type) {
  switch (type) {
#define X(name, type_) \
  case DataType::name: \
    return #name;
#include "isotope/base/data_types.def"
#undef X
  }
  return "?";
}

constexpr bool is_float(DataType type) { return type <= DataType::e5m2; }

}  // namespace isotope
