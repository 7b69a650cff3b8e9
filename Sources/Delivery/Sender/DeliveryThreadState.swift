/// The state that all destinations share, for the delivery thread only.
struct DeliveryThreadState {
    let agenda = DeliveryAgenda()
    let endpoints = EndpointStates()
    let quotas = ProjectQuotas()
    let refusals = CredentialRefusals()
    let memory: DeliveryMemory

    init(memoryMax: Int = DeliveryMemory.usualMax) {
        memory = DeliveryMemory(max: memoryMax)
    }
}
