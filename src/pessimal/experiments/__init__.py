"""The paper's studies: declared, run on any executor, kept in one store that resumes."""
