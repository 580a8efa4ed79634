// SPDX-License-Identifier: MIT
//
// Going on with a file that exists: writer::append. SPEC.md section 10.
#ifndef ZTENSOR_APPEND_HPP
#define ZTENSOR_APPEND_HPP

#include <ztensor/writer.hpp>

/// @file
/// `writer::append(path)` opens the file at `path` for more: its objects and attributes are there already, and what is
/// added is written behind them, in the version that the file has. What it holds is not decoded, and its part of the
/// manifest is kept as it stands. A name that the file has is refused: errc::duplicate_key. Of the options, version()
/// says nothing here.
///
/// A file of version 2 grows by a generation: all of the old file stays, its manifest and footer as dead bytes, and a
/// new manifest and footer come behind what is added. Names need not rise, alignment_bytes() is what the file has, up
/// to 65,536, unless told otherwise, and what is added goes into this file also where its other blobs are in shards.
///
/// With publish_mode::replace, which is the default, the file is copied beside (by the system, where it can: on XFS,
/// Btrfs and APFS without moving a byte), extended, and published by finish() as every new file is: at every moment the
/// target is the complete old file or the complete new one. Bytes of the old file that nothing refers to any more are
/// kept, but for the old manifest.
///
/// With publish_mode::in_place the file itself is extended, which takes no time and no room for what it holds. No old
/// byte is ever changed; the old manifest stays as dead bytes. Until finish(), and after a crash, readers find a file
/// without a footer (errc::truncated). A small record of what the file was, `.ztensor-<16 hex digits>.undo`, lies
/// beside it meanwhile, and recover() (recover.hpp) brings back the last complete state. A writer that fails or is
/// dropped does that by itself. After a power cut this holds unless sync_level is none.
///
/// A second writer of the file, to append or to edit, is refused while this one lives: errc::busy. So is one where an
/// undo record is left. A writer that creates the file from nothing is not: the last to finish wins, but that what was written
/// in place of a file that has been replaced or removed meanwhile is lost, and finish() says so: errc::file_changed.
///
/// Errors: those of reader::open; not_expressible for a file of version 1.0, which can't be written, and for a data
/// shard of version 2; busy;
/// invalid_argument, io_error, out_of_memory.

#if !defined(ZTENSOR_COMPILED)
#include <ztensor/detail/write/edit_definitions.hpp>
#endif

#endif
