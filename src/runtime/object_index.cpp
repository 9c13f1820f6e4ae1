#include "runtime/object_index.hpp"

namespace isotope::runtime {

namespace {

/// Odd while the table changes; what was written is there before it is even again.
class Change {
 public:
  explicit Change(ObjectTable& table) : table_(&table) {
    store(&table.version, table.version + 1);
    fence(Order::release);
  }
  ~Change() { store(&table_->version, table_->version + 1, Order::release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  ObjectTable* table_;
};

void write(ObjectRange& to, ObjectRange value) {
  store(&to.begin, value.begin);
  store(&to.bytes, value.bytes);
}

}  // namespace

ObjectIndex::ObjectIndex(ObjectTable& table) : table_(&table) { grow(); }

void ObjectIndex::grow() {
  const std::uint64_t wanted = capacity_ == 0 ? 256 : capacity_ * 2;
  auto next = std::make_unique<ObjectRange[]>(wanted);
  for (std::uint64_t i = 0; i < table_->count; ++i) next[i] = arrays_.back()[i];
  const Change change(*table_);
  store(&table_->ranges, reinterpret_cast<std::uint64_t>(next.get()));
  arrays_.push_back(std::move(next));
  capacity_ = wanted;
}

std::uint64_t ObjectIndex::position(std::uint64_t begin) const {
  std::uint64_t at = 0;
  while (at < table_->count && arrays_.back()[at].begin < begin) ++at;
  return at;
}

void ObjectIndex::add(const void* begin, std::uint64_t bytes) {
  if (bytes == 0) return;  // holds no address
  if (table_->count == capacity_) grow();
  ObjectRange* ranges = arrays_.back().get();
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t at = position(address);
  const Change change(*table_);
  for (std::uint64_t i = table_->count; i > at; --i) write(ranges[i], ranges[i - 1]);
  write(ranges[at], {address, bytes});
  store(&table_->count, table_->count + 1);
}

void ObjectIndex::remove(const void* begin) {
  ObjectRange* ranges = arrays_.back().get();
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t at = position(address);
  if (at == table_->count || ranges[at].begin != address) return;
  const Change change(*table_);
  for (std::uint64_t i = at + 1; i < table_->count; ++i) write(ranges[i - 1], ranges[i]);
  store(&table_->count, table_->count - 1);
}

}  // namespace isotope::runtime
