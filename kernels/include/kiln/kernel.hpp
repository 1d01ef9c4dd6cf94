// What every emitted text includes.
#pragma once

#include <kiln/arithmetic.hpp>
#include <kiln/atomics.hpp>
#include <kiln/float8.hpp>
#include <kiln/intrinsics.hpp>
#include <kiln/math.hpp>
#include <kiln/types.hpp>
