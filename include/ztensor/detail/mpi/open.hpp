// SPDX-License-Identifier: MIT
//
// A model that all ranks open: rank 0 reads, and the others parse what it read.
#ifndef ZTENSOR_DETAIL_MPI_OPEN_HPP
#define ZTENSOR_DETAIL_MPI_OPEN_HPP

#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/mpi/communicator.hpp>
#include <ztensor/detail/os/file.hpp>
#include <ztensor/detail/read/siblings.hpp>
#include <ztensor/file_path.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/options.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>

#include <memory>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// What the others need: of each file its path, whether it is a .zt file, and its index. A file of another format is
/// imported again for that: its reader does not keep the header.
inline result<vector<byte>> index_message(const reader& opened, const read_options& options) {
    message said;
    said.put(uint64_t{opened.files().size()});
    for (const reader& each : opened.files()) {
        const bool is_zt = each.container() == container_kind::zt;
        ZTENSOR_TRY_ASSIGN(const file_index index, is_zt ? each.index() : read_index(each.path(), options));
        said.put(each.path());
        said.put(uint64_t{is_zt});
        said.put(index.bytes());
    }
    return std::move(said.all());
}

/// A .zt file alone. Of many files few stay open, as open_any() has it.
inline result<reader> open_indexed_path(const file_path& path, bool is_alone, const file_index& index,
                                        const read_options& options) {
    if (is_alone) {
        return reader::from_index(path, index, options);
    }
    const native_path native = path.native();
    result<file> opened = file::open(native);
    result<std::shared_ptr<const byte_source>> source =
        opened ? source_of_sibling(*std::move(opened), options, native) : std::move(opened).error();
    return source ? open_any(*std::move(source), path, index, options)
                  : std::move(source).error().in_file(path_text(native));
}

/// All files that rank 0 opened.
inline result<reader> open_from(message said, const read_options& options) {
    const uint64_t count = said.number();
    vector<reader> files;
    for (uint64_t i = 0; i < count; ++i) {
        const string path(said.text());
        const bool is_zt = said.number() != 0;
        const bytes_view bytes = said.bytes();
        ZTENSOR_TRY_ASSIGN(const file_index index, file_index::from_bytes({bytes.begin(), bytes.end()}));
        ZTENSOR_TRY_ASSIGN(reader file, open_indexed_path(path, is_zt && count == 1, index, options));
        files.push_back(std::move(file));
    }
    return files.size() == 1 ? std::move(files.front()) : reader::join(std::move(files));
}

inline result<reader> open_together(const communicator& ranks, const file_path& path, const read_options& options) {
    reader opened;
    result<vector<byte>> said = vector<byte>();
    if (ranks.is_root()) {
        said = guard_rank([&]() -> result<vector<byte>> {
            ZTENSOR_TRY_ASSIGN(opened, open_any(path, options));
            return ranks.size() == 1 ? vector<byte>() : index_message(opened, options);
        });
    }
    ZTENSOR_TRY_ASSIGN(vector<byte> bytes, ranks.broadcast(std::move(said)));
    return ranks.agree(guard_rank([&]() -> result<reader> {
        return ranks.is_root() ? result<reader>(opened) : open_from(message(std::move(bytes)), options);
    }));
}

/// Reading takes time, and parsing none: so all ranks open it by what one of them has read.
inline result<reader> open_together(const communicator& ranks, const std::shared_ptr<const byte_source>& source,
                                    const file_path& name, const read_options& options) {
    if (ranks.size() == 1) {
        return open_any(source, name, options);
    }
    result<vector<byte>> said = vector<byte>();
    if (ranks.is_root()) {
        said = guard_rank([&]() -> result<vector<byte>> {
            ZTENSOR_TRY_ASSIGN(const file_index index, read_index(source, name, options));
            return vector<byte>(index.bytes().begin(), index.bytes().end());
        });
    }
    ZTENSOR_TRY_ASSIGN(vector<byte> bytes, ranks.broadcast(std::move(said)));
    return ranks.agree(guard_rank([&]() -> result<reader> {
        ZTENSOR_TRY_ASSIGN(const file_index index, file_index::from_bytes(std::move(bytes)));
        return open_any(source, name, index, options);
    }));
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
