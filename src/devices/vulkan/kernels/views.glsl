// Views on device memory. Addresses arrive as push constants, so no binding limits a matrix's size.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_control_flow_attributes : require

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Words { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Quads { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Indices { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float at[]; };
