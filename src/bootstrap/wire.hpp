// Little-endian numbers in byte strings: what the codec and the unique id are written with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace isotope::bootstrap {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class Writer {
 public:
  template <class T>
  Writer& number(T value) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) out_.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xff));
    return *this;
  }
  Writer& bytes(ByteView view) {
    out_.insert(out_.end(), view.begin(), view.end());
    return *this;
  }
  Writer& text(std::string_view view) { return bytes(as_bytes(view)); }
  std::size_t size() const { return out_.size(); }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

/// Reading past the end gives zeros and makes ok() false; nothing is ever read outside the view.
class Reader {
 public:
  explicit Reader(ByteView view) : view_(view) {}

  template <class T>
  T number() {
    std::make_unsigned_t<T> bits = 0;
    const ByteView from = take(sizeof(T));
    for (std::size_t i = 0; i < from.size(); ++i)
      bits = static_cast<decltype(bits)>(bits | (static_cast<std::uint64_t>(from[i]) << (8 * i)));
    return static_cast<T>(bits);
  }
  void into(std::span<std::byte> out) {
    const ByteView from = take(out.size());
    if (!from.empty()) std::memcpy(out.data(), from.data(), from.size());
  }
  /// Everything that is left.
  ByteView rest() { return take(view_.size()); }
  std::string rest_text() {
    const ByteView from = rest();
    return std::string(reinterpret_cast<const char*>(from.data()), from.size());
  }
  bool ok() const { return ok_; }
  bool at_end() const { return view_.empty(); }

 private:
  ByteView take(std::size_t bytes) {
    if (bytes > view_.size()) {
      ok_ = false;
      view_ = {};
      return {};
    }
    const ByteView part = view_.first(bytes);
    view_ = view_.subspan(bytes);
    return part;
  }

  ByteView view_;
  bool ok_ = true;
};

}  // namespace isotope::bootstrap
