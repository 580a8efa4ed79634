// SPDX-License-Identifier: MIT
//
// What a program is like that includes <windows.h> first and does not define NOMINMAX: words are macros. The
// standard's and the foreign headers come before, since some of these do not bear it.
#include "foreign_headers.hpp"

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
// Words that its headers take too.
#define near
#define far
#define IN
#define OUT
#define OPTIONAL
#define interface struct
#define small char
#define hyper long long
#define cdecl
#define pascal
#define CONST const
#define VOID void
#define TRUE 1
#define FALSE 0
#define DELETE 0x00010000L
#define ERROR 0
#define NO_ERROR 0L
#define STRICT 1
#define ABSOLUTE 1
#define RELATIVE 2
#define OPAQUE 2
#define TRANSPARENT 1
#define DIFFERENCE 11
#define THIS_ this,
#define Yield()
#define CreateFile CreateFileA
#define CopyFile CopyFileA
#define DeleteFile DeleteFileA
#define GetMessage GetMessageA
#define GetObject GetObjectA
#define LoadLibrary LoadLibraryA

#if defined(ZTENSOR_COMPILED)
#include <ztensor/compiled.hpp>
#endif
#include <ztensor/dlpack.hpp>
#include <ztensor/formatter.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/ztensor.hpp>

int main() {
}
