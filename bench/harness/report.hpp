// Rows as a table for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/row.hpp"

namespace isotope::bench {

/// Aligned; columns that apply to no row are left out.
std::string table(const std::vector<Row>& rows, bool color);

/// {schema, machine, versions, rows}: docs/benchmarks.md explains each field.
Json document(const std::vector<Row>& rows);

/// "64 KiB", "1 MiB", "12 B": as the table has it.
std::string bytes_text(std::uint64_t bytes);

/// Why this build is not for measuring; empty when it is.
std::string build_warning();

}  // namespace isotope::bench
