/** What RADV prints for small shaders, shortened: the loops and statistics are as recorded. */

const statistics = (values: Readonly<Record<string, number>>): string =>
  ['Compute Shader:', '*** SHADER STATS ***', ...Object.entries(values).map(([key, value]) => `${key}: ${value}`)].join(
    '\n',
  )

/** A sum of squares on RDNA 3: four multiply-adds for each load of 16 bytes. */
export const SUM_OF_SQUARES = `shader: MESA_SHADER_COMPUTE
workgroup_size: 64, 1, 1
subgroup_size: 0
impl dawn_entry_point {
    con loop {
    }
}
Compute Shader
disasm:
BB0:
	s_load_b128 s[8:11], s[2:3], 0x40                           ; f4080201 f8000040
	v_lshl_add_u32 v0, s7, 6, v0                                ; d6460000 04010c07
	v_cmpx_gt_u32_e32 s4, v0                                    ; 7d980004
	s_cbranch_execz BB14                                        ; bfa50041
BB2:
	v_mov_b32_e32 v2, 0                                         ; 7e040280
	s_mov_b64 s[0:1], exec                                      ; be8001c1
	s_nop 0                                                     ; bf800000
	(then repeated 5 times)
BB3:
	s_cmp_ge_u32 s6, s5                                         ; bf090506
	s_cbranch_scc1 BB7                                          ; bfa20018
BB6:
	v_mul_lo_u32 v3, v0, s5                                     ; d72c0003 00000b00
	v_add_lshl_u32 v3, s6, v3, 4                                ; d6470003 02120606
	buffer_load_b128 v[4:7], v3, s[8:11], 0 offen               ; e05c0000 80420403
	s_add_u32 s6, s6, 1                                         ; 80068106
	s_waitcnt vmcnt(0)                                          ; bf8903f7
	v_fmac_f32_e32 v2, v7, v7                                   ; 56040f07
	v_fmac_f32_e32 v2, v6, v6                                   ; 56040d06
	v_fmac_f32_e32 v2, v5, v5                                   ; 56040b05
	v_fmac_f32_e32 v2, v4, v4                                   ; 56040904
	s_branch BB3                                                ; bfa0ffe2
BB7:
	v_sqrt_f32_e32 v2, v2                                       ; 7e046702
BB14:
	s_endpgm                                                    ; bfb00000


${statistics({
  SGPRs: 128,
  VGPRs: 12,
  'Spilled SGPRs': 0,
  'Spilled VGPRs': 0,
  'Code size': 336,
  'LDS size': 0,
  'Scratch size': 0,
  Instructions: 63,
  'Inverse Throughput': 117,
})}
`

/** Two nested loops with waves of 32 lanes, dual issue and workgroup memory; some registers are spilled. */
export const NESTED = `workgroup_size: 16, 16, 1
disasm:
BB0:
	v_mov_b32_e32 v2, 0                                         ; 7e040280
BB1:
	v_mov_b32_e32 v3, 0                                         ; 7e040280
BB2:
	ds_load_b128 v[4:7], v3                                     ; d9fc0000
	ds_load_2addr_b32 v[8:9], v3 offset1:1                      ; d9fc0000
	v_dual_fmac_f32 v2, v7, v7 :: v_dual_fmac_f32 v3, v6, v6    ; 56040f07
	v_dual_fmac_f32 v2, v7, v8 :: v_dual_mov_b32 v3, v6         ; 56040f07
	s_cbranch_scc1 BB2                                          ; bfa20018
BB3:
	v_cmp_gt_f32_e32 vcc_lo, v2, v3                             ; 7d980004
	v_cndmask_b32_e32 v2, v3, v2, vcc_lo                        ; 7d980004
	s_cbranch_scc1 BB1                                          ; bfa20018
BB4:
	s_endpgm                                                    ; bfb00000

${statistics({
  VGPRs: 96,
  'Spilled SGPRs': 3,
  'Spilled VGPRs': 4,
  'LDS size': 16384,
  'Scratch size': 256,
  Instructions: 11,
})}
`
