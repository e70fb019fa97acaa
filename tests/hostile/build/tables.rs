//! A component whose start function grows a table without end, which Rust cannot say.

use wasm_encoder::{
    BlockType, CodeSection, Component, Function, FunctionSection, InstanceSection, Module,
    ModuleArg, ModuleSection, RefType, StartSection, TableSection, TableType, TypeSection, ValType,
};

/// Its bytes.
pub fn component() -> Vec<u8> {
    let mut module = Module::new();
    let mut types = TypeSection::new();
    types.ty().function([], []);
    module.section(&types);
    let mut functions = FunctionSection::new();
    functions.function(0);
    module.section(&functions);
    let mut table = TableSection::new();
    table.table(TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: 0,
        maximum: None,
        shared: false,
    });
    module.section(&table);
    module.section(&StartSection { function_index: 0 });
    let mut grow = Function::new([(1, ValType::I32)]);
    grow.instructions()
        .loop_(BlockType::Empty)
        .ref_null(wasm_encoder::HeapType::FUNC)
        .i32_const(1_000_000)
        .table_grow(0)
        .drop()
        .local_get(0)
        .i32_const(1)
        .i32_add()
        .local_tee(0)
        .i32_const(1000)
        .i32_ne()
        .br_if(0)
        .end()
        .end();
    let mut code = CodeSection::new();
    code.function(&grow);
    module.section(&code);

    let mut component = Component::new();
    component.section(&ModuleSection(&module));
    let mut instances = InstanceSection::new();
    instances.instantiate(0, Vec::<(&str, ModuleArg)>::new());
    component.section(&instances);
    component.finish()
}
