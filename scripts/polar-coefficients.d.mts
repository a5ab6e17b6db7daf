type Step = readonly [number, number, number]

export declare function bestStep(low: number, high: number): { coefficients: Step; error: number }

export declare function polarSteps(smallest: number, count: number): { steps: Step[]; low: number; high: number }
