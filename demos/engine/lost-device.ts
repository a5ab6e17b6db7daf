/** The GPU devices this worker made, so that one can be taken away on purpose: the page has a button for that. */

export interface DeviceRegister {
  /** Ends every device, as a crash of the driver does for those who use them. */
  lose(): void
}

export function watchDevices(): DeviceRegister {
  const made: GPUDevice[] = []
  if (typeof GPUAdapter !== 'undefined') {
    const request = GPUAdapter.prototype.requestDevice
    GPUAdapter.prototype.requestDevice = async function (this: GPUAdapter, descriptor?: GPUDeviceDescriptor) {
      const device = await request.call(this, descriptor)
      made.push(device)
      return device
    }
  }
  return {
    lose() {
      for (const device of made.splice(0)) device.destroy()
    },
  }
}
