// Layout: magic 8 | version u16 | family u16 | port u16 | zero u16 | scope u32 | address 16 | job 16 | key 32 | zeros |
// hash 16
#include "bootstrap/unique_id_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace isotope::bootstrap {
namespace {

constexpr std::string_view kIdMagic = "isotope\n";
constexpr std::uint16_t kIdVersion = 1;
constexpr std::size_t kHashAt = sizeof(UniqueId) - sizeof(JobId);

JobId checksum(const UniqueId& id) { return hash_job_id(ByteView(id.bytes).first(kHashAt), "unique id checksum"); }

}  // namespace

UniqueId pack(const UniqueIdParts& parts) {
  Writer w;
  w.text(kIdMagic)
      .number(kIdVersion)
      .number(static_cast<std::uint16_t>(parts.address.family))
      .number(parts.address.port);
  w.number(std::uint16_t{0}).number(parts.address.scope).bytes(std::as_bytes(std::span(parts.address.bytes)));
  w.bytes(parts.job).bytes(parts.key.bytes);
  const Bytes bytes = w.take();
  UniqueId id{};
  std::copy(bytes.begin(), bytes.end(), id.bytes);
  const JobId sum = checksum(id);
  std::copy(sum.begin(), sum.end(), id.bytes + kHashAt);
  return id;
}

UniqueIdParts unpack(const UniqueId& id) {
  if (std::memcmp(id.bytes, kIdMagic.data(), kIdMagic.size()) != 0)
    throw Error(Code::invalid_argument,
                "these 128 bytes are no UniqueId: call get_unique_id() on one PE and move all 128 bytes to the others");
  Reader r(ByteView(id.bytes).subspan(kIdMagic.size()));
  const auto version = r.number<std::uint16_t>();
  if (version != kIdVersion)
    throw Error(Code::refused,
                fmt::format("the UniqueId has version {}, this build reads version {}; build all PEs from one "
                            "version of Isotope",
                            version, kIdVersion));
  UniqueIdParts parts;
  parts.address.family = r.number<std::uint16_t>();
  parts.address.port = r.number<std::uint16_t>();
  r.number<std::uint16_t>();
  parts.address.scope = r.number<std::uint32_t>();
  r.into(std::as_writable_bytes(std::span(parts.address.bytes)));
  r.into(parts.job);
  r.into(parts.key.bytes);
  const JobId sum = checksum(id);
  const bool whole = std::equal(sum.begin(), sum.end(), id.bytes + kHashAt);
  if (!whole || (parts.address.family != 4 && parts.address.family != 6) || parts.address.port == 0)
    throw Error(Code::invalid_argument,
                "the UniqueId was damaged on its way: its checksum does not fit; move all 128 bytes");
  return parts;
}

}  // namespace isotope::bootstrap
